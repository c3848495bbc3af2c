import { once } from 'node:events'
import { appendFileSync, existsSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import express from 'express'
import pg from 'pg'
import { createS3Server, db, runJobs, type ObjectStorage } from '@svc/db'
import { diskStorage } from '@svc/db/disk'
import { expressBinding } from '@svc/db/express'
import { postgresAdapter } from '@svc/db/postgres'

/** The server of docs/deploying.md, with slow parts. They go on once FOLDER has a file named "go on". */
const { FOLDER: folder = '', SCHEMA: schema = '', DATABASE_URL: connectionString = '' } = process.env

const note = (line: string) => appendFileSync(join(folder, 'log'), `${line}\n`)

/** Notes where it begins and ends. */
async function slow(name: string): Promise<void> {
  note(`${name} began`)
  while (!existsSync(join(folder, 'go on'))) await wait(20)
  note(`${name} ended`)
}

/** The first clean-up looks for the bytes of a reservation, which takes long. */
function slowToLook(storage: ObjectStorage): ObjectStorage {
  return {
    ...storage,
    async head(input) {
      if (input.key.startsWith('expired')) await slow('clean-up')
      return storage.head(input)
    },
  }
}

async function serve(): Promise<void> {
  const pool = new pg.Pool({ connectionString })
  const client = postgresAdapter(pool, { schema, events: true })
  await client.migrate()
  const s3 = createS3Server({
    storage: slowToLook(diskStorage({ directory: join(folder, 'bytes') })),
    bucket: 'uploads',
    plugins: [db({ client, resolveScope: () => 'ann' })],
    onEvent: ({ type, object }) => slow(`${type} ${object.filename}`),
    onError: (error) => note(`failed: ${String(error)}`),
  })
  const app = express()
  app.get('/slow', async (_request, response) => {
    await slow('request')
    response.send('done')
  })
  const server = app.use(expressBinding(s3)).listen(0, '127.0.0.1')
  await once(server, 'listening')

  const stopping = new AbortController()
  const onRun = ({ job }: { readonly job: string }) => note(`${job} ran`)
  const jobs = runJobs(s3, { signal: stopping.signal, onRun })

  async function stop() {
    note('stopping')
    stopping.abort()
    server.close()
    await once(server, 'close')
    await Promise.all([jobs, s3.close()])
    await pool.end()
    note('stopped')
  }
  let stopped: Promise<void> | undefined
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => void (stopped ??= stop()))
  note(`listening ${(server.address() as AddressInfo).port}`)
}
void serve()
