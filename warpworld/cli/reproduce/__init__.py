"""Published tables trained again: tasks, settings, seeds and references in one file, results beside the references."""

from typing import TYPE_CHECKING

from warpworld.lazy import lazy_names

if TYPE_CHECKING:
    from warpworld.cli.reproduce.results import Results as Results
    from warpworld.cli.reproduce.results import read_results as read_results
    from warpworld.cli.reproduce.summary import compared as compared
    from warpworld.cli.reproduce.summary import markdown as markdown
    from warpworld.cli.reproduce.summary import over_tasks as over_tasks
    from warpworld.cli.reproduce.summary import rows as rows
    from warpworld.cli.reproduce.summary import warnings as warnings
    from warpworld.cli.reproduce.table_file import TableFile as TableFile
    from warpworld.cli.reproduce.table_file import listed_tables as listed_tables
    from warpworld.cli.reproduce.trainings import Orders as Orders
    from warpworld.cli.reproduce.trainings import Trainings as Trainings
    from warpworld.cli.reproduce.writing import keep_results as keep_results
    from warpworld.cli.reproduce.writing import write_table as write_table
else:
    __getattr__, __dir__ = lazy_names(__name__)
