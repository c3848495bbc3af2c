/** Transactions in flight from which on further batches wait and share the next one. */
const MAX_IN_FLIGHT = 2
const MAX_WRITES = 64

/**
 * Milliseconds after which a transaction no longer keeps others waiting. It may be blocked by another process, or the server may
 * have stopped responding on its connection.
 */
const PATIENCE = 100

export interface TransactionGroupOptions<Batch, Result> {
  /** Runs batches in one transaction. Returns `null` if it was undone and each of them should run alone. */
  readonly runTogether: (batches: readonly Batch[]) => Promise<readonly Result[] | null>
  readonly runAlone: (batch: Batch) => Promise<Result>
  /** Returns the documents that a batch is expected to write. Batches with one in common run in order, never together. */
  readonly documentsOf: (batch: Batch) => readonly string[]
  /** Returns the number of writes in a batch. */
  readonly sizeOf: (batch: Batch) => number
}

interface WaitingBatch<Batch, Result> {
  readonly batch: Batch
  readonly documents: readonly string[]
  readonly resolve: (result: Result) => void
  readonly reject: (reason: unknown) => void
}

/**
 * Returns a function that runs batches, of which several can share a transaction: a commit costs the server about the same
 * for one write as for many. A batch starts at once while fewer than two transactions are in flight. Later ones wait for
 * one of them to end and then share the next, up to 64 writes.
 */
export function createTransactionGroups<Batch, Result>({
  runTogether,
  runAlone,
  documentsOf,
  sizeOf,
}: TransactionGroupOptions<Batch, Result>): (batch: Batch) => Promise<Result> {
  type Waiting = WaitingBatch<Batch, Result>
  const waiting: Waiting[] = []
  /** Documents that batches in flight write. */
  const busy = new Set<string>()
  let inFlight = 0

  function startGroups(): void {
    while (inFlight < MAX_IN_FLIGHT) {
      const group = takeGroup()
      if (group.length === 0) return
      void runGroup(group)
    }
  }

  function takeGroup(): Waiting[] {
    const group: Waiting[] = []
    const left: Waiting[] = []
    // Also those of batches that have to wait, which later ones must not overtake.
    const seen = new Set<string>()
    let writes = 0
    while (waiting.length > 0 && writes < MAX_WRITES) {
      const next = waiting.shift()!
      const size = sizeOf(next.batch)
      const fits = group.length === 0 || writes + size <= MAX_WRITES
      const isFree = !next.documents.some((document) => busy.has(document) || seen.has(document))
      if (fits && isFree) {
        group.push(next)
        writes += size
      } else {
        left.push(next)
      }
      for (const document of next.documents) seen.add(document)
    }
    waiting.unshift(...left)
    return group
  }

  async function runGroup(group: readonly Waiting[]): Promise<void> {
    for (const { documents } of group) for (const document of documents) busy.add(document)
    inFlight++
    let isCounted = true
    const stopCounting = () => {
      if (isCounted) inFlight--
      isCounted = false
    }
    const timer = setTimeout(() => {
      stopCounting()
      startGroups()
    }, PATIENCE)
    if (group.length === 1 || !(await settleTogether(group))) await Promise.all(group.map(settleAlone))
    clearTimeout(timer)
    stopCounting()
    startGroups()
  }

  /** Returns `false` if each batch has to run alone. */
  async function settleTogether(group: readonly Waiting[]): Promise<boolean> {
    try {
      const results = await runTogether(group.map(({ batch }) => batch))
      if (results === null) return false
      group.forEach(({ resolve }, index) => resolve(results[index]!))
    } catch (error) {
      for (const { reject } of group) reject(error)
    }
    // Callers who were just answered often write again at once. Otherwise, the first of them would start alone.
    await new Promise((resolve) => setImmediate(resolve))
    for (const each of group) release(each)
    return true
  }

  async function settleAlone(each: Waiting): Promise<void> {
    try {
      each.resolve(await runAlone(each.batch))
    } catch (error) {
      each.reject(error)
    }
    release(each)
    startGroups()
  }

  function release({ documents }: Waiting): void {
    for (const document of documents) busy.delete(document)
  }

  return (batch) =>
    new Promise((resolve, reject) => {
      waiting.push({ batch, documents: documentsOf(batch), resolve, reject })
      startGroups()
    })
}
