"""The addresses of the code systems that FHIR resources name."""

LOINC = "http://loinc.org"
UCUM = "http://unitsofmeasure.org"
