import { MongoClient } from 'mongodb'
import { afterAll, describe, expect, it } from 'vitest'
import { createAttemptId } from '@svc/db'
import { mongoAdapter } from '../../../src/adapters/mongo/index.js'
import { installedMongod, startReplicaSet, startStandalone } from '../../servers/mongod.js'
import { describeMongo, freshDatabase } from '../mongo/databases.js'
import { buildCommand, jsonLines } from './command.js'

const command = buildCommand()

describeMongo('svc-db on MongoDB', (serverURL) => {
  const client = new MongoClient(serverURL)
  const database = freshDatabase(client)
  const target = new URL(serverURL)
  target.pathname = `/${database.databaseName}`
  const run = (...args: string[]) => command.run(args, { MONGODB_URL: target.href })

  afterAll(async () => {
    await database.dropDatabase()
    await client.close()
  })

  it('reports a missing schema, migrates, then finds no problems', async () => {
    const verified = await run('verify')
    expect(verified.exitCode).toBe(1)
    expect(verified.stdout).toContain('migrate()')
    const used = await run('usage', 'user:ann')
    expect(used).toMatchObject({ exitCode: 5, stdout: '' })
    expect(used.stderr).toMatch(/run migrate\(\)[\s\S]*Run: svc-db migrate\n$/)

    const [first] = jsonLines((await run('migrate', '--json')).stdout) as [{ from: number; to: number }]
    expect(first.from).toBe(0)
    expect(first.to).toBeGreaterThan(0)
    expect(jsonLines((await run('migrate', '--json')).stdout)).toEqual([{ from: first.to, to: first.to }])
    const found = await run('verify')
    expect(found).toMatchObject({ exitCode: 0, stdout: '', stderr: 'No problems found.\n' })
  })

  it('shows usage, repairs counters, and purges', async () => {
    const yesterday = mongoAdapter(database, { now: () => new Date(Date.now() - 86_400_000) })
    await yesterday.migrate()
    const at = { scope: 'user:ann', bucket: 'files' }
    const expiresAt = new Date(Date.now() - 3_600_000)
    for (const key of ['active', 'gone']) {
      const id = createAttemptId()
      await yesterday.reserve({ ...at, key, id, declaredSize: 10, expiresAt, storageKey: key })
      await yesterday.confirm({ ...at, key, id, size: 10 })
    }
    await yesterday.remove({ ...at, key: 'gone' })
    await yesterday.reserve({ ...at, key: 'expired', declaredSize: 7, expiresAt })

    const usage = { bytes: 10, files: 1, reservedBytes: 7, reservedFiles: 1 }
    const usageOf = async () => jsonLines((await run('usage', 'user:ann', '--json')).stdout)
    expect(await usageOf()).toEqual([{ scope: 'user:ann', ...usage }])
    const listed = jsonLines((await run('list', 'user:ann', '--json')).stdout) as { key: string }[]
    expect(listed.map(({ key }) => key)).toEqual(['expired', 'active'])
    expect((await run('leftovers')).stdout).toContain('files/gone')

    await database
      .collection<{ _id: string }>('svc_db_objects')
      .updateOne({ _id: (await scopeDocumentId())! }, { $inc: { bytes: 5 } })
    expect(await run('check-usage')).toMatchObject({ exitCode: 1 })
    expect(await run('repair-usage')).toMatchObject({ exitCode: 0 })
    expect(await run('check-usage')).toMatchObject({ exitCode: 0, stdout: '' })

    expect((await run('purge-expired', '--yes')).stdout).toContain('files/expired')
    const before = new Date().toISOString()
    expect((await run('purge-deleted', '--before', before)).exitCode).toBe(0)
    expect(await usageOf()).toEqual([{ scope: 'user:ann', ...usage, reservedBytes: 0, reservedFiles: 0 }])
  })

  it('uses only the collections of its prefix', async () => {
    expect(await run('migrate', '--prefix', 'other_')).toMatchObject({ exitCode: 0 })
    expect(jsonLines((await run('usage', 'user:ann', '--prefix', 'other_', '--json')).stdout)).toEqual([
      { scope: 'user:ann', bytes: 0, files: 0, reservedBytes: 0, reservedFiles: 0 },
    ])
    const names = (await database.listCollections().toArray()).map(({ name }) => name)
    expect(names).toContain('other_objects')
  })

  it('refuses collections that a newer release has migrated', async () => {
    await run('migrate', '--prefix', 'newer_')
    await database
      .collection<{ _id: string }>('newer_schema')
      .updateOne({ _id: 'version' }, { $set: { version: 99, minCompatible: 99 } })
    const ran = await run('migrate', '--prefix', 'newer_')
    expect(ran).toMatchObject({ exitCode: 5, stdout: '' })
    expect(ran.stderr).toContain('Use a newer release')
  })

  async function scopeDocumentId(): Promise<string | undefined> {
    const documents = await database.collection<{ _id: string }>('svc_db_objects').find().toArray()
    return documents.find((document) => 'bytes' in document)?._id
  }
})

const program = installedMongod()
const describeStandalone = program === null ? describe.skip : describe

describeStandalone(
  `svc-db on a server that requires a password${program === null ? ' (no mongod on PATH)' : ''}`,
  () => {
    it('exits with 5 and suggests what to check, without the password', async () => {
      const set = await startReplicaSet(program!, { members: 1, durable: false, signIn: true })
      const target = new URL(set.url)
      target.pathname = '/files'
      target.username = 'app'
      target.password = 'p@ss/word#1'
      try {
        const ran = await command.run(['migrate'], { MONGODB_URL: target.href })
        expect(ran).toMatchObject({ exitCode: 5, stdout: '' })
        expect(ran.stderr).toMatch(/MongoDB rejected the login[\s\S]*app:\*\*\*@[\s\S]*authSource=admin/)
        expect(ran.stderr).not.toMatch(/word#1|word%231/)
      } finally {
        await set.remove()
      }
    })

    it('exits with 5 for the wrong replica set name', async () => {
      const set = await startReplicaSet(program!, { members: 1, durable: false })
      const target = new URL(set.url)
      target.pathname = '/files'
      target.searchParams.set('replicaSet', 'another')
      try {
        const ran = await command.run(['verify', '--connect-timeout', '1'], { MONGODB_URL: target.href })
        expect(ran).toMatchObject({ exitCode: 5, stdout: '' })
        expect(ran.stderr).toContain('Check replicaSet in the URL.')
      } finally {
        await set.remove()
      }
    })
  },
)

describeStandalone(`svc-db on a standalone server${program === null ? ' (no mongod on PATH)' : ''}`, () => {
  it('exits with 5 and asks for a replica set', async () => {
    const standalone = await startStandalone(program!)
    const target = new URL(standalone.url)
    target.pathname = '/files'
    try {
      const ran = await command.run(['migrate'], { MONGODB_URL: target.href })
      expect(ran).toMatchObject({ exitCode: 5, stdout: '' })
      expect(ran.stderr).toContain('MongoDB must be a replica set')
      const verified = await command.run(['verify'], { MONGODB_URL: target.href })
      expect(verified.stdout).toContain('MongoDB must be a replica set')
    } finally {
      await standalone.stop()
    }
  })
})
