"""FHIR R4: resources read into records, and readings shown as Observations. How records are kept is in records/."""
