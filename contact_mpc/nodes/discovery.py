"""How the processes of a stack find each other: on this machine only, and without waiting.

A Fast DDS participant that starts drops the first answers of those already there, because they arrive before it is
ready (seen with 2.14), and they repeat theirs only every 3 s. So all participants of a stack announce themselves ten
times a second while it starts, and at the usual rate from then on. Other middlewares ignore the profile.
"""

import os
from pathlib import Path

from contact_mpc.errors import StackError

RANGE = {"ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST"}
PROFILE_VARIABLE = "FASTRTPS_DEFAULT_PROFILES_FILE"
ANNOUNCEMENTS, PERIOD_NS = 100, 100_000_000
PROFILE = f"""<?xml version="1.0" encoding="UTF-8"?>
<dds xmlns="http://www.eprosima.com/XMLSchemas/fastRTPS_Profiles">
  <profiles>
    <participant profile_name="contact_mpc_stack" is_default_profile="true">
      <rtps><builtin><discovery_config>
        <initialAnnouncements>
          <count>{ANNOUNCEMENTS}</count>
          <period><sec>0</sec><nanosec>{PERIOD_NS}</nanosec></period>
        </initialAnnouncements>
      </discovery_config></builtin></rtps>
    </participant>
  </profiles>
</dds>
"""


def discovery_environment(folder: Path) -> dict[str, str]:
    """Return the variables for every process of a stack; the profile is written to `folder`.

    A profile that the user has chosen stays.

    Raises
    ------
    StackError
        The folder cannot be written.
    """
    chosen = os.environ.get(PROFILE_VARIABLE)
    if chosen is not None and Path(chosen).name != "fastdds.xml":
        return dict(RANGE)
    file = folder / "fastdds.xml"
    try:
        file.write_text(PROFILE)
    except OSError as error:
        raise StackError(f"{file} cannot be written: {error.strerror}; choose another folder") from error
    return {**RANGE, PROFILE_VARIABLE: str(file)}
