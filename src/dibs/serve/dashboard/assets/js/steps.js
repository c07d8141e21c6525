// What can be done with tasks and queues: each is a step of the queue itself, asked for once.

import { post, queuePath } from "./api.js";
import { ask } from "./dialog.js";
import { named, plural } from "./words.js";
import { say } from "./toast.js";

export const rights = { write: false };

const LIVE = ["ready", "claimed", "scheduled", "blocked"];
const WAITING = ["ready", "scheduled", "blocked"];

// name -> which tasks it is for, its word, what it asks first, and what it sends
const STEPS = {
  priority: {
    fits: (task, able) => able.prioritises && WAITING.includes(task.state),
    word: "Priority",
    done: "has another priority",
  },
  retry: { fits: (task) => ["failed", "cancelled"].includes(task.state), word: "Retry", done: "is back in the queue" },
  release: {
    fits: (task, able) => task.state === "claimed" && able.records,
    word: "Release",
    done: "was released",
    body: (task) => ({ epoch: task.epoch }),
    title: "Release this task?",
    yes: "Release the task",
    text: "It goes back to the queue. Its holder is told at the next heartbeat; what it does is not recorded.",
  },
  cancel: {
    fits: (task) => LIVE.includes(task.state),
    word: "Cancel",
    done: "was cancelled",
    danger: true,
    title: "Cancel this task?",
    yes: "Cancel the task",
    text: "It leaves the queue. One who works on it is told at the next heartbeat. Retry puts it back.",
  },
};

export function possible(task, able) {
  if (!rights.write) return [];
  return Object.entries(STEPS)
    .filter(([, step]) => step.fits(task, able ?? {}))
    .map(([name, step]) => ({ name, ...step }));
}

export async function take(name, queue, task, body) {
  const step = STEPS[name];
  if (step.title && !(await ask(step.title, step.text, step.yes, step))) return false;
  return attempt(`${named(task)} ${step.done}`, () =>
    post(queuePath(queue, "tasks", task.id, name), body ?? step.body?.(task)),
  );
}

export async function takeMany(name, queue, tasks) {
  const step = STEPS[name];
  if (step.title && !(await ask(`${step.word} ${plural(tasks.length, "task")}?`, step.text, step.word, step)))
    return false;
  let done = 0;
  let wrong = "";
  for (const task of tasks) {
    try {
      await post(queuePath(queue, "tasks", task.id, name), step.body?.(task));
      done += 1;
    } catch (error) {
      wrong = error.message;
    }
  }
  say(`${step.word}: ${plural(done, "task")} done`);
  if (wrong) say(`${plural(tasks.length - done, "task")} not: ${wrong}`, true);
  return true;
}

export function pause(queue) {
  return attempt(`${queue} is paused: nothing is claimed until it is resumed`, () =>
    post(queuePath(queue, "pause"), { reason: "from the dashboard" }),
  );
}

export function resume(queue) {
  return attempt(`${queue} goes on`, () => post(queuePath(queue, "resume")));
}

async function attempt(done, act) {
  try {
    await act();
    say(done);
    return true;
  } catch (error) {
    say(error.message, true);
    return false;
  }
}
