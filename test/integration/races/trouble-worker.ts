import { closeSync, openSync, writeSync } from 'node:fs'
import { deliverEvents } from '@svc/db'
import { openDatabase } from './database.js'
import type { TroubleLine, TroubleTask } from './delivery-trouble.js'
import { serveAsWorker } from './worker.js'

const wait = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds))

/** What handlers do with the objects whose keys start so. All others are handled at once. */
const TROUBLES: Readonly<Record<string, () => Promise<unknown>>> = {
  async down() {
    await wait(1000)
    throw new Error('The receiver does not respond.')
  },
  hangs: () => new Promise(() => {}),
  async blocks() {
    const end = Date.now() + 2000
    while (Date.now() < end);
  },
}

serveAsWorker<TroubleTask, object>({}, async ({ connection, log }, _, { finish }) => {
  const file = openSync(log, 'a')
  const write = (line: TroubleLine) => void writeSync(file, `${JSON.stringify(line)}\n`)
  const { open, close } = openDatabase(connection, 4)
  await deliverEvents(open(), {
    async onEvent({ attempts, object: { key } }) {
      const [kind = ''] = key.split(' ')
      write({ kind, attempts, key })
      await TROUBLES[kind]?.()
    },
    onError: (error) => write({ kind: 'reported', text: (error as Error).message }),
    pollSeconds: 0.1,
    claimSeconds: 10,
    signal: finish,
  })
  await close()
  closeSync(file)
})
