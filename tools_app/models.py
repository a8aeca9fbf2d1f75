"""Where Django looks for this app's models; they are defined in records/."""

from tools_app.records.clinical import ClinicalRecord
from tools_app.records.models import HealthRecord, Share, ShareEvent

__all__ = ["ClinicalRecord", "HealthRecord", "Share", "ShareEvent"]
