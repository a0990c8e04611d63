"""A session of training, for the command and for Python: from a trainer and its run folder to the end of training."""

from typing import TYPE_CHECKING

from warpworld.lazy import lazy_names

if TYPE_CHECKING:
    from warpworld.trainers.session.session import begin_run as begin_run
    from warpworld.trainers.session.session import make_trainer as make_trainer
    from warpworld.trainers.session.session import resume_command as resume_command
    from warpworld.trainers.session.session import run_along as run_along
    from warpworld.trainers.session.session import run_session as run_session
    from warpworld.trainers.session.signals import StopOnSignal as StopOnSignal
    from warpworld.trainers.session.signals import sigterm_raises as sigterm_raises
else:
    __getattr__, __dir__ = lazy_names(__name__)
