import { closeSync, openSync, writeSync } from 'node:fs'
import { createS3Server, db, deliverEvents, memoryStorage } from '@svc/db'
import { openDatabase } from './database.js'
import { isOpen, logOf, UPLOADS, type Gate, type TroubleLine, type TroubleTask } from './delivery-trouble.js'
import { serveAsWorker } from './worker.js'

const wait = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds))

/** A server with a job in the same process. SIGTERM ends the job. */
serveAsWorker<TroubleTask, object>({}, async ({ connection, folder, worker }, _, { finish }) => {
  const file = openSync(logOf(folder), 'a')
  const write = (line: TroubleLine) => void writeSync(file, `${JSON.stringify(line)}\n`)
  const until = async (gate: Gate) => {
    while (!isOpen(folder, gate)) await wait(50)
  }
  const upload = async () => {
    for (let number = 0; number < UPLOADS; number++) {
      await s3.files.put({ scope: 'upload', key: `upload ${worker} ${number}`, body: 'a' })
    }
  }
  let uploads: Promise<void> | null = null

  /** What handlers do with the objects whose keys start so. All others are handled at once. */
  const troubles: Readonly<Record<string, (attempts: number) => Promise<unknown>>> = {
    async down(attempts) {
      if (attempts > 1) await until('others')
      await wait(1000)
      throw new Error('The receiver does not respond.')
    },
    hangs: () => new Promise(() => {}),
    async blocks() {
      const end = Date.now() + 2000
      while (Date.now() < end);
    },
    async import() {
      uploads ??= upload()
      await until('uploads')
      await uploads
    },
  }

  const { open, close } = openDatabase(connection, 4)
  const s3 = createS3Server({
    storage: memoryStorage(),
    bucket: 'files',
    plugins: [db({ client: open(), resolveScope: () => null })],
    async onEvent({ attempts, object: { key } }) {
      const [kind = ''] = key.split(' ')
      write({ kind, attempts, key })
      await troubles[kind]?.(attempts)
    },
    onError: (error) => write({ kind: 'reported', text: (error as Error).message }),
  })
  const stop = new AbortController()
  process.once('SIGTERM', () => stop.abort())
  finish.addEventListener('abort', () => process.kill(process.pid, 'SIGTERM'))
  await deliverEvents(s3, { pollSeconds: 0.1, concurrency: 32, signal: stop.signal })
  await close()
  closeSync(file)
})
