"""What a start on defaults leaves in the data directory."""

import os
import subprocess
import sys
from pathlib import Path

PRINT_KEY = "from mirobody_site.settings import SECRET_KEY; print(SECRET_KEY)"


def test_processes_that_start_together_share_one_secret_key(tmp_path: Path) -> None:
    data = tmp_path / "data"
    environment = {"PATH": os.environ["PATH"], "DATA_DIR": str(data), "ENV_FILE": os.devnull}
    starts = [
        subprocess.Popen([sys.executable, "-c", PRINT_KEY], env=environment, stdout=subprocess.PIPE, text=True)
        for _ in range(4)
    ]
    keys = {start.communicate(timeout=60)[0].strip() for start in starts}
    assert keys == {(data / "secret_key").read_text()}
    assert len(keys.pop()) >= 50
    assert (data / "secret_key").stat().st_mode & 0o777 == 0o600
    assert data.stat().st_mode & 0o777 == 0o700
    assert list(data.iterdir()) == [data / "secret_key"]
