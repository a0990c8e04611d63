"""Pictures of a run."""

from typing import TYPE_CHECKING

from warpworld.lazy import lazy_names

if TYPE_CHECKING:
    from warpworld.report.encoding import encode_marks as encode_marks
    from warpworld.report.pages import asset as asset
    from warpworld.report.pages import script as script
    from warpworld.report.pages import style as style
    from warpworld.report.pictures import write_gif as write_gif
    from warpworld.report.pictures import write_mp4 as write_mp4
    from warpworld.report.recording import Recording as Recording
    from warpworld.report.recording import checked_drawing as checked_drawing
    from warpworld.report.recording import record_random as record_random
    from warpworld.report.recording import record_run as record_run
    from warpworld.report.recording import recording_of as recording_of
    from warpworld.report.replay import read_replay as read_replay
    from warpworld.report.replay import replay_page_of as replay_page_of
    from warpworld.report.replay import replay_text as replay_text
    from warpworld.report.replay import write_replay as write_replay
    from warpworld.report.report import write_report as write_report
    from warpworld.report.stepping import Step as Step
    from warpworld.report.stepping import Stepping as Stepping
else:
    __getattr__, __dir__ = lazy_names(__name__)
