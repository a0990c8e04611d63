"""Jobs are shared among a few processes; one that dies takes its job with it and no other."""

from __future__ import annotations

import os
from dataclasses import replace

import pytest

from benchmarks.gpu.part import Context, UnfinishedError
from benchmarks.gpu.workers import Done, Job, run_jobs

HERE = "tests.benchmarks.gpu.gpu_jobs:"


def job(name: str, *arguments: object) -> Job:
    return Job(f"{name} {arguments}", HERE + name, arguments)


def faults(context: Context, jobs: list[Job], at_once: int) -> dict[str, str]:
    return {done.job.name: done.fault for done in run_jobs(context, jobs, at_once)}


@pytest.mark.long
@pytest.mark.parametrize("at_once", [0, 2])
def test_what_jobs_return_comes_back(at_once: int, context: Context) -> None:
    jobs = [job("add", number, 1) for number in range(9)]
    done = {ended.job: ended.found for ended in run_jobs(context, jobs, at_once)}
    assert [done[each]["sum"] for each in jobs] == list(range(1, 10))
    processes = {found["process"] for found in done.values()}
    assert len(processes) <= 2 and (processes == {os.getpid()}) == (at_once == 0)


@pytest.mark.long
def test_a_job_that_kills_its_process_is_named_and_the_others_are_done(context: Context) -> None:
    found = faults(context, [job("add", 1, 1), job("abort", "a word"), job("leave"), job("add", 2, 2)], 1)
    assert found["add (1, 1)"] == found["add (2, 2)"] == ""
    assert found["abort ('a word',)"].startswith("its process was ended by SIGABRT; it printed: ")
    assert "a word" in found["abort ('a word',)"]
    assert found["leave ()"].startswith("its process ended with status 0")


@pytest.mark.long
def test_after_an_exception_comes_a_fresh_process(context: Context) -> None:
    jobs = [job("add", 1, 1), job("fail"), job("add", 2, 2)]
    done = {ended.job: ended for ended in run_jobs(context, jobs, 1)}
    assert done[jobs[1]].fault.startswith("KeyError: 'lost'\n")
    assert done[jobs[0]].found["process"] != done[jobs[2]].found["process"]
    assert "KeyError: 'lost'" in context.path.with_name("worker-0.txt").read_text()


@pytest.mark.heavy
@pytest.mark.long
def test_jobs_that_are_not_done_in_time_are_named(context: Context) -> None:
    jobs = [job("add", 1, 1), job("hang"), job("add", 2, 2)]
    done: list[Done] = []
    with pytest.raises(UnfinishedError, match=r"^2 of 3 were not done in time: hang \(\), add \(2, 2\)$"):
        done += run_jobs(replace(context, limit=4.0), jobs, 1)
