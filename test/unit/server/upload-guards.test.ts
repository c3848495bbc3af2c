import { StorageError, type Guard, type GuardContext } from '@svc/db'
import { describe, expect, it } from 'vitest'
import { begun, sent, uploads } from './doors.js'
import { around, bytesOfSize, errorOf, startService, type ServiceOptions } from './service.js'

/** What guards of uploads are asked, and what they know. */

const report = { key: () => 'report', overwrite: true }

describe.each(uploads)('the guards of $name', (upload) => {
  const { begin, operations } = upload
  const isMultipart = operations[0] === 'multipart'

  /** Returns guards that record what they get, by the option that has them. */
  function recording() {
    const seen: (readonly [name: string, context: GuardContext])[] = []
    const guard =
      (name: string): Guard =>
      (context) =>
        void seen.push([name, context])
    return { seen, guard }
  }

  it('are that of upload, then that of multipart for parts, then that of the route', async () => {
    const { seen, guard } = recording()
    const { as } = startService({
      ...{ upload: { guard: guard('upload') }, multipart: { guard: guard('multipart') } },
      routes: { docs: { guard: guard('route') } },
    })
    await begun(upload, as('user:1'))
    const asked = isMultipart ? ['upload', 'multipart', 'route'] : ['upload', 'route']
    expect(seen.map(([name, { multipart }]) => [name, multipart])).toEqual(
      asked.map((name) => [name, isMultipart]),
    )
  })

  it('deny with that of upload alone, whichever way the file comes', async () => {
    const guard = () => {
      throw new StorageError('FORBIDDEN', { message: 'Your account is suspended.' })
    }
    const { as, objects } = startService({ upload: { guard } })
    const message = 'Your account is suspended.'
    expect(await errorOf(await begin(as('user:1')))).toMatchObject({ code: 'FORBIDDEN', message })
    expect(await objects.countByScope('user:1')).toBe(0)
  })

  it('know the file, and the metadata as the client sent it, not as the route changes it', async () => {
    const { seen, guard } = recording()
    const metadata = (given: object | null) => Object.assign(given ?? {}, { album: 'none' })
    const file = { filename: 'ä.txt', contentType: 'text/plain', size: 3 }
    const { as, objects } = startService({ routes: { docs: { guard: guard('route'), metadata } } })
    const caller = as('user:1')
    const { object } = await begun(upload, caller, { ...file, metadata: { album: 'sea' } })
    for (const none of [null, undefined]) await begun(upload, caller, { ...file, metadata: none })
    const known = { ...file, route: 'docs', scope: 'user:1', replaces: null, multipart: isMultipart }
    expect(seen.map(([, context]) => context)).toMatchObject([
      { ...known, metadata: { album: 'sea' } },
      { ...known, metadata: null },
      { ...known, metadata: null },
    ])
    expect((await objects.findPending(object))!.metadata).toEqual({ album: 'none' })
  })

  it("know the caller's object that the upload would replace, so that a hold can refuse it", async () => {
    const held = new Set<string>()
    const guard: Guard = ({ replaces }) => {
      if (replaces && held.has(replaces.id)) throw new StorageError('FORBIDDEN')
    }
    const options: ServiceOptions = { upload: { guard }, routes: { docs: report } }
    const service = startService(options)
    const caller = service.as('user:1')
    const first = await sent(upload, caller)
    await upload.finish(caller, first)
    const { id, key, bucket } = (await service.objects.findActive(first.object))!
    held.add(id)
    expect((await begin(caller)).status).toBe(403)
    expect(await caller.bytes(key)).toEqual(bytesOfSize(3))
    expect(await service.objects.findPending({ bucket, key })).toBeNull()

    held.clear()
    const replacement = await sent(upload, caller, {}, 8)
    // A hold that is set now comes too late.
    held.add(id)
    expect((await upload.finish(caller, replacement)).status).toBe(200)
    expect(await caller.bytes(key)).toEqual(bytesOfSize(3, 8))
  })

  it('get copies', async () => {
    const seen: unknown[] = []
    const change: Guard = ({ replaces, metadata }) => {
      Object.assign(replaces ?? {}, { filename: 'changed' })
      Object.assign(metadata ?? {}, { changed: 'yes' })
    }
    const look: Guard = ({ replaces, metadata }) => seen.push(replaces?.filename, metadata)
    const service = startService({ upload: { guard: change }, routes: { docs: { ...report, guard: look } } })
    const caller = service.as('user:1')
    await upload.finish(caller, await sent(upload, caller))
    const { object } = await begun(upload, caller, { metadata: { a: 'b' } })
    expect(seen).toEqual([undefined, null, 'a.txt', { a: 'b' }])
    expect((await service.objects.findPending(object))!.metadata).toEqual({ a: 'b' })
  })

  it('see no object of another owner', async () => {
    const { seen, guard } = recording()
    const { as } = startService({ upload: { guard: guard('upload') }, routes: { docs: report } })
    await upload.finish(as('user:2'), await sent(upload, as('user:2')))
    expect(await errorOf(await begin(as('user:1')))).toMatchObject({ code: 'KEY_CONFLICT' })
    expect(seen.map(([, { replaces }]) => replaces)).toEqual([null, null])
  })

  it.each<readonly [string, ServiceOptions, number]>([
    ['a guard and a route that allows overwrite', { upload: { guard() {} }, routes: { docs: report } }, 1],
    ['the guard of a route that allows overwrite', { routes: { docs: { ...report, guard() {} } } }, 1],
    ['no guard', { routes: { docs: report } }, 0],
    [
      'a route without overwrite',
      { upload: { guard() {} }, routes: { docs: { ...report, overwrite: false } } },
      0,
    ],
    ['random keys', { upload: { guard() {} }, routes: { docs: { overwrite: true } } }, 0],
  ])('cost a look at the database only where they need one: %s', async (_, options, looks) => {
    const { as, objects } = startService(options)
    let calls = 0
    around(objects, 'findActive', (find) => (input) => (calls++, find(input)))
    await begun(upload, as('user:1'))
    expect(calls).toBe(looks)
  })
})

it('files.put asks no guard', async () => {
  const guard = () => expect.unreachable()
  const { s3 } = startService({ upload: { guard }, multipart: { guard }, routes: { docs: { guard } } })
  expect(await s3.files.put({ scope: 'user:1', filename: 'a', body: 'abc' })).toMatchObject({ size: 3 })
})
