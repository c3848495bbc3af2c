/** Runs tasks a few at a time, in the order in which they came. Each begins after the call that brought it. */
export function createQueue(atOnce: number): (task: () => Promise<void>) => void {
  const waiting: (() => Promise<void>)[] = []
  let running = 0

  async function work(): Promise<void> {
    running += 1
    for (let task = waiting.shift(); task; task = waiting.shift()) await task()
    running -= 1
  }

  return (task) => {
    waiting.push(task)
    queueMicrotask(() => {
      if (running < atOnce) void work()
    })
  }
}
