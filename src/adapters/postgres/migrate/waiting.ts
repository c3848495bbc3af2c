import type { MigrateOptions } from '../../../core/store/contract.js'
import type { Database } from '../connection/database.js'
import { readNumber } from '../sql/rows.js'

const POLL_MILLISECONDS = 1000
/** Polls after which the same session is named again. */
const POLLS_TO_REPEAT = 10

/**
 * Runs a migration and reports which session it waits for. Once the signal aborts, cancels the statement in progress,
 * which it finds by a comment. Both need another connection, because the migration's own one is waiting.
 */
export async function whileWatched<T>(
  database: Database,
  { signal, onProgress }: MigrateOptions,
  migrate: (database: Database) => Promise<T>,
): Promise<T> {
  if (!signal && !onProgress) return migrate(database)
  const mark = `/* migrate() ${crypto.randomUUID()} */`
  const marked: Database = {
    ...database,
    // It may be asking again and again whether another process has built an index.
    async run(...call) {
      signal?.throwIfAborted()
      return database.run(...call)
    },
    async script(first, ...others) {
      signal?.throwIfAborted()
      return database.script(`${mark} ${first}`, ...others)
    },
  }

  let polls = 0
  let known: string | null = null
  let isPolling = false
  async function report(): Promise<void> {
    if (!onProgress || isPolling) return
    isPolling = true
    // A failure shows in the migration itself, or it only costs the report.
    const [row] = await database.run(BLOCKER, [mark]).catch(() => [])
    isPolling = false
    const session = row?.[0] ?? null
    const isNews = session !== known || ++polls % POLLS_TO_REPEAT === 0
    known = session
    if (row && isNews) onProgress({ waitingFor: sentenceOf(row[0]!, row[1] ?? '', readNumber(row[2])) })
  }
  const cancel = () => void database.run(CANCEL, [mark]).catch(() => [])

  let timer: ReturnType<typeof setInterval> | undefined
  const failedReport = new Promise<never>((_, reject) => {
    timer = setInterval(() => void report().catch(reject), POLL_MILLISECONDS)
  })
  signal?.addEventListener('abort', cancel)
  try {
    return await Promise.race([migrate(marked), failedReport])
  } finally {
    clearInterval(timer)
    signal?.removeEventListener('abort', cancel)
  }
}

function sentenceOf(pid: string, application: string, seconds: number): string {
  const name = application === '' ? '' : ` (${JSON.stringify(application)})`
  return `migrate() waits for session ${pid}${name}, whose transaction began ${seconds} s ago.`
}

const OF_MIGRATION = `pg_catalog.strpos(a.query, $1) = 1 AND a.state = 'active'`

/** The session that keeps a statement of the migration waiting. Roles may not see when another one's transaction began. */
const BLOCKER = {
  name: 'migration_blocker',
  text: `
    SELECT b.pid::text, b.application_name,
      coalesce(date_part('epoch', clock_timestamp() - coalesce(b.xact_start, a.query_start)), 0)::int::text
    FROM pg_catalog.pg_stat_activity a
    CROSS JOIN LATERAL pg_catalog.unnest(pg_catalog.pg_blocking_pids(a.pid)) AS p(pid)
    JOIN pg_catalog.pg_stat_activity b ON b.pid = p.pid
    WHERE ${OF_MIGRATION} LIMIT 1`,
}

const CANCEL = {
  name: 'migration_cancel',
  text: `SELECT pg_catalog.pg_cancel_backend(a.pid)::text FROM pg_catalog.pg_stat_activity a WHERE ${OF_MIGRATION}`,
}
