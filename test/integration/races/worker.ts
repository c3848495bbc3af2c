/** Milliseconds between two progress messages. */
const PROGRESS_INTERVAL = 20

export type ToWorker<Task> =
  | { readonly kind: 'start'; readonly task: Task }
  /** The process kills itself with SIGKILL at its next moment of this name. */
  | { readonly kind: 'die'; readonly when: string }
  | { readonly kind: 'finish' }

export type FromWorker<Report> =
  | { readonly kind: 'progress'; readonly counts: Readonly<Record<string, number>> }
  | { readonly kind: 'report'; readonly report: Report }
  | { readonly kind: 'failure'; readonly text: string }

export interface Orders {
  /** Aborts when the process shall finish. */
  readonly finish: AbortSignal
  /** Call at each moment at which a test may kill the process. */
  readonly dieIfOrdered: (when: string) => void
}

/**
 * Runs this process as a worker of `startWorkers`: works until it is told to finish, then sends its report. Its numbers are also
 * sent meanwhile.
 */
export function serveAsWorker<Task, Report extends object>(
  report: Report,
  work: (task: Task, report: Report, orders: Orders) => Promise<void>,
): void {
  const finish = new AbortController()
  let death: string | null = null
  const dieIfOrdered = (when: string) => void (when === death && process.kill(process.pid, 'SIGKILL'))
  const send = (message: FromWorker<Report>, then = () => {}) => process.send?.(message, then)
  process.on('message', (message: ToWorker<Task>) => {
    if (message.kind === 'finish') finish.abort()
    else if (message.kind === 'die') death = message.when
    else void run(message.task)
  })
  const onDisconnect = () => process.exit()
  // The parent process is gone.
  process.on('disconnect', onDisconnect)

  async function run(task: Task): Promise<void> {
    const numbers = () => Object.entries(report).filter(([, value]) => typeof value === 'number')
    const sendProgress = () => send({ kind: 'progress', counts: Object.fromEntries(numbers()) })
    const progress = setInterval(sendProgress, PROGRESS_INTERVAL)
    const end = await work(task, report, { finish: finish.signal, dieIfOrdered }).then(
      () => ({ kind: 'report', report }) as const,
      (error: unknown) => ({ kind: 'failure', text: String(error) }) as const,
    )
    clearInterval(progress)
    // From here on, the process ends by itself. What keeps it alive shows as `exited` of the workers, or is killed.
    process.off('disconnect', onDisconnect)
    send(end, () => process.disconnect())
  }
}
