"""Medical evidence from public services: literature, guidelines, registered trials. The tools over it are in tools/."""
