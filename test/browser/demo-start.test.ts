import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest'
import type { StorageObjectStore } from '@svc/db'
import { freePort, privateFolder, type PrivateFolder } from '../servers/private-server.js'
import { demoEnvironment, type DemoOptions } from './demo-server.js'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

/** What the demo does first. Called in this process, because each start of the demo bundles it. */
interface Start {
  readSettings(environment: NodeJS.ProcessEnv): unknown
  openStorage(folder: string): Promise<unknown>
  openDatabase(folder: string): Promise<OpenDatabase>
}

interface OpenDatabase {
  readonly name: string
  readonly client: StorageObjectStore
  readonly close: () => Promise<void>
}

async function loadStart(): Promise<Start> {
  const files = ['settings', 'storage', 'database'].map((name) => `examples/demo/${name}.mjs`)
  const modules = files.map(
    (file) => import(/* @vite-ignore */ new URL(file, `file://${ROOT}`).href) as Promise<Partial<Start>>,
  )
  return Object.assign({}, ...(await Promise.all(modules))) as Start
}

describe('npm start', () => {
  let folder: PrivateFolder
  let dataFolder: string
  let start: Start
  beforeAll(async () => {
    start = await loadStart()
    folder = await privateFolder('demo', null)
    dataFolder = `${folder.path}/data`
  })
  afterAll(() => folder.remove('SIGKILL'))

  it('keeps its records in the SQLite file that DATABASE_URL names, with events on', async () => {
    const path = `${folder.path}/demo.db`
    for (const url of [`sqlite://${path}`, `sqlite:${path}`]) {
      vi.stubEnv('DATABASE_URL', url)
      onTestFinished(() => void vi.unstubAllEnvs())
      const { name, client, close } = await start.openDatabase(dataFolder)
      expect(name).toBe(`the SQLite file ${path}`)
      const [at, expiresAt] = [{ bucket: 'b', key: url }, new Date('2100-01-01')]
      const { id } = await client.reserve({ ...at, scope: 'ann', declaredSize: 1, expiresAt })
      await client.confirm({ ...at, id, size: 1 })
      expect((await client.countEvents()).waiting).toBe(await client.countByScope('ann'))
      await close()
    }
  })

  it('allows 25,000,000 bytes a person by default', () => {
    expect(start.readSettings({})).toMatchObject({ quota: { maxBytes: 25_000_000 } })
  })

  it.each([
    [{ port: 'abc' }, 'PORT must be an integer from 0 to 65535 (got abc).'],
    [{ port: '70000' }, 'PORT must be an integer from 0 to 65535 (got 70000).'],
    [
      { settings: { QUOTA_BYTES: '10MB' } },
      'QUOTA_BYTES must be an integer from 1 to 9007199254740991 (got 10MB).',
    ],
    [
      { settings: { DATABASE_URL: 'mysql://ada:secret@h/files' } },
      'DATABASE_URL must start with postgres://, postgresql:// or sqlite: (got mysql://…).',
    ],
    [
      { settings: { MONGODB_URL: 'mongo://ada:secret@h/files' } },
      'MONGODB_URL must be a URL such as mongodb://host:27017/files?replicaSet=rs0.',
    ],
    [
      { settings: { DATABASE_URL: 'postgres://h/files', MONGODB_URL: 'mongodb://ada:secret@h/files' } },
      'DATABASE_URL and MONGODB_URL are both set. Unset one of them.',
    ],
    [{ settings: { S3_BUCKET: 'files' } }, 'S3_ENDPOINT and S3_BUCKET must be set together.'],
    [
      { settings: { S3_BUCKET: 'files', S3_ENDPOINT: 'http://ada:secret@h' } },
      'S3_ENDPOINT must not contain credentials. Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY instead.',
    ],
  ])('refuses %j in one line', async (options, expected) => {
    expect(await refusalOf(options)).toBe(expected)
  })

  it.each([
    {
      store: 'the PostgreSQL server at HOST/files:',
      settings: (host: string) => ({ DATABASE_URL: `postgres://ada:secret@${host}/files` }),
    },
    {
      store: 'the MongoDB replica set at HOST, database files:',
      settings: (host: string) => ({ MONGODB_URL: `mongodb://ada:secret@${host}/files` }),
    },
    {
      store: 'the bucket files at http://HOST:',
      settings: (host: string) => ({
        S3_ENDPOINT: `http://${host}`,
        S3_BUCKET: 'files',
        AWS_ACCESS_KEY_ID: 'ada',
        AWS_SECRET_ACCESS_KEY: 'secret',
      }),
    },
  ])('reports that it cannot reach $store without showing the password', async ({ store, settings }) => {
    const host = `127.0.0.1:${await freePort()}`
    const refusal = await refusalOf({ settings: settings(host) })
    expect(refusal).toContain(`Can't use ${store.replace('HOST', host)}`)
    expect(refusal).toContain('ECONNREFUSED')
    expect(refusal).not.toContain('secret')
  })

  /** Returns why the demo refuses to start, without the words that every refusal starts with. */
  async function refusalOf(options: Omit<DemoOptions, 'dataFolder'>): Promise<string> {
    const environment = demoEnvironment({ dataFolder, ...options })
    for (const [name, value] of Object.entries(environment)) vi.stubEnv(name, value)
    try {
      start.readSettings(process.env)
      await start.openStorage(dataFolder)
      await start.openDatabase(dataFolder)
      return 'It runs.'
    } catch (error) {
      return (error as Error).message
    } finally {
      vi.unstubAllEnvs()
    }
  }
})
