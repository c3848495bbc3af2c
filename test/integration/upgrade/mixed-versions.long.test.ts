import { createS3Server, db, memoryStorage } from '@svc/db'
import { createS3Client, dbClient } from '@svc/db/client'
import { memoryAdapter } from '@svc/db/memory'
import { beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest'
import { stubLocalStorage } from '../../unit/client/local-storage.js'
import { PART, threeParts } from '../../unit/client/upload-in-parts/files.js'
import { describeWithRelease } from './describe-with-release.js'
import { releasedLibrary, type Library } from './released-source.js'

const current: Library = { createS3Server, db, memoryStorage, memoryAdapter, createS3Client, dbClient }

interface Network {
  /** Responds to a PUT of bytes. */
  put: (serve: () => Promise<Response>) => Promise<Response>
  /** Who is signed in. */
  user: string | null
}

/** Starts a server of one version, with a client of another one. */
function start(client: Library, server: Library) {
  const objects = server.memoryAdapter()
  const { handler } = server.createS3Server({
    storage: server.memoryStorage(),
    bucket: 'files',
    routes: {
      random: {},
      named: { key: ({ filename }) => filename, overwrite: true, contentTypes: ['text/*'] },
    },
    plugins: [
      server.db({
        client: objects,
        resolveScope: ({ headers }) => headers.get('x-user'),
        quota: { maxFiles: 3 },
      }),
    ],
  })
  const sent: string[] = []
  const network: Network = { put: (serve) => serve(), user: 'ada' }
  const fetch = async (...[input, init]: Parameters<typeof globalThis.fetch>): Promise<Response> => {
    const request = new Request(input, init)
    const { pathname } = new URL(request.url)
    sent.push(request.method === 'PUT' ? 'PUT' : `${request.method} ${pathname.replace('/api/s3', '')}`)
    const serve = () => handler(request)
    return request.method === 'PUT' ? network.put(serve) : serve()
  }
  const openTab = ({ createS3Client, dbClient }: Library) =>
    createS3Client({
      baseURL: 'http://files.test',
      plugins: [dbClient()],
      fetch,
      headers: (): Record<string, string> => (network.user === null ? {} : { 'x-user': network.user }),
    }).api
  const api = openTab(client)
  const count = (line: string) => sent.filter((other) => other === line).length
  const usage = async () => {
    const { bytes, reservedBytes } = await objects.getScopeUsage('ada')
    return { bytes, reservedBytes }
  }
  const bytesOf = async (object: { key: string }) =>
    Buffer.from(await (await fetch((await api.download(object)).url)).arrayBuffer())
  const textOf = async (object: { key: string }) => (await bytesOf(object)).toString()
  const isStored = async (object: { key: string }, file: File) =>
    (await bytesOf(object)).equals(Buffer.from(await file.arrayBuffer()))
  return { api, openTab, sent, network, count, usage, textOf, isStored }
}

type World = ReturnType<typeof start>

const text = (content: string, name = 'a.txt') => new File([content], name, { type: 'text/plain' })

const rejectionOf = (call: Promise<unknown>): Promise<unknown> =>
  call.then(
    () => expect.fail('The call resolved.'),
    (error: unknown) => error,
  )

/** Lets one part of an upload arrive. Then the session ends, which the next try of another part finds out. */
async function interrupt(network: Network, upload: () => Promise<unknown>) {
  let first: Promise<unknown> | undefined
  network.put = async (serve) => {
    if (!first) {
      const response = serve()
      first = response
      return response
    }
    await first
    network.user = null
    throw new TypeError('fetch failed')
  }
  expect(await rejectionOf(upload())).toMatchObject({ code: 'UNAUTHORIZED' })
  Object.assign(network, { put: (serve: () => unknown) => serve(), user: 'ada' })
}

/** Aborts an upload while its bytes are being sent. */
async function abort({ api, network, usage }: World, file: File) {
  const controller = new AbortController()
  network.put = async () => {
    controller.abort()
    throw controller.signal.reason
  }
  const upload = api.upload(file, { route: 'random', signal: controller.signal })
  expect(await rejectionOf(upload)).toMatchObject({ code: 'ABORTED' })
  await expect.poll(usage).toEqual({ bytes: 0, reservedBytes: 0 })
}

const flows: Record<string, (world: World) => Promise<void>> = {
  async 'uploads a file in one PUT'({ api, textOf, count }) {
    const file = new File(['Grüße'], 'größe.txt', { type: 'text/plain;charset="utf-8"' })
    const object = await api.upload(file, { route: 'random', metadata: { album: 'summer' } })
    expect(object).toMatchObject({ status: 'active', filename: 'größe.txt', contentType: file.type, size: 7 })
    expect(await textOf(object)).toBe('Grüße')
    expect([count('PUT'), count('POST /upload/confirm')]).toEqual([1, 1])
  },

  async 'uploads a file in parts'({ api, isStored, count }) {
    const file = threeParts()
    const object = await api.upload(file, { route: 'random' })
    expect(await isStored(object, file)).toBe(true)
    expect([count('PUT'), count('POST /multipart/complete')]).toEqual([3, 1])
  },

  async 'resumes an upload in parts'({ api, network, sent, count, isStored, usage }) {
    const file = threeParts()
    await interrupt(network, () => api.upload(file, { route: 'random' }))
    expect(await usage()).toEqual({ bytes: 0, reservedBytes: file.size })
    sent.length = 0
    const object = await api.upload(file, { route: 'random' })
    expect([count('POST /multipart'), count('POST /multipart/list'), count('PUT')]).toEqual([0, 1, 2])
    expect(await isStored(object, file)).toBe(true)
  },

  'aborts an upload in one PUT': (world) => abort(world, text('abc')),
  'aborts an upload in parts': (world) => abort(world, threeParts()),

  async 'ends an upload whose bytes the storage refuses'({ api, network, usage }) {
    network.put = async () => new Response('<Error><Code>AccessDenied</Code></Error>', { status: 403 })
    const upload = api.upload(text('abc'), { route: 'random' })
    expect(await rejectionOf(upload)).toMatchObject({ code: 'UNEXPECTED_RESPONSE', status: 403 })
    expect(await usage()).toEqual({ bytes: 0, reservedBytes: 0 })
  },

  async 'replaces an object'({ api, textOf, usage }) {
    await api.upload(text('old'), { route: 'named' })
    const object = await api.upload(text('newer'), { route: 'named' })
    expect(object).toMatchObject({ key: 'a.txt', size: 5 })
    expect(await textOf(object)).toBe('newer')
    expect(await usage()).toEqual({ bytes: 5, reservedBytes: 0 })
  },

  async 'lists, finds and deletes objects'({ api }) {
    for (const name of ['a', 'b', 'c']) await api.upload(text(name, name), { route: 'named' })
    const first = await api.db.listObjects({ limit: 2, route: 'named' })
    expect(first.objects.map(({ key }) => key)).toEqual(['c', 'b'])
    const last = await api.db.listObjects({ limit: 2, route: 'named', cursor: first.nextCursor })
    expect([last.objects.map(({ key }) => key), last.nextCursor]).toEqual([['a'], undefined])
    const found = await api.db.getObject({ key: 'b' })
    expect(found).toMatchObject({ key: 'b', status: 'active', size: 1 })
    await api.delete({ key: 'b' })
    expect(await api.db.getObject({ key: 'b' })).toBe(null)
    expect(await rejectionOf(api.delete({ key: 'b' }))).toMatchObject({ code: 'OBJECT_NOT_FOUND' })
  },

  async 'is refused with the same codes'({ api }) {
    const picture = new File(['x'], 'a.png', { type: 'image/png' })
    for (const name of ['a', 'b', 'c']) await api.upload(text(name, name), { route: 'named' })
    const codes = [
      await rejectionOf(api.upload(picture, { route: 'named' })),
      await rejectionOf(api.upload(text('abc'), { route: 'random' })),
      await rejectionOf(api.upload(text('abc'), { route: 'none' })),
    ]
    expect(codes).toMatchObject([
      { code: 'CONTENT_TYPE_NOT_ALLOWED', status: 415 },
      { code: 'QUOTA_EXCEEDED', status: 413, params: { limit: 'maxFiles', max: 3 } },
      { code: 'VALIDATION_ERROR', status: 400, params: { field: 'route' } },
    ])
  },
}

describeWithRelease('with releases on one side only', () => {
  let released: Library
  beforeAll(async () => {
    released = await releasedLibrary()
  })

  it('two tabs store their own file each, and resume only what they began', async () => {
    stubLocalStorage()
    onTestFinished(() => void vi.unstubAllGlobals())
    const { api, openTab, network, sent, count, isStored } = start(current, current)
    const tabs = [openTab(released), api]
    const files = tabs.map((_, index) => {
      const bytes = new Uint8Array(PART * 2 + 3).fill(index)
      return new File([bytes], 'film.mp4', { lastModified: 1 })
    })
    const upload = (index: number) => tabs[index]!.upload(files[index]!, { route: 'random' })
    for (const index of [0, 1]) await interrupt(network, () => upload(index))
    // Both resume their own. The last one has nothing left to resume.
    for (const [index, puts] of [
      [1, 2],
      [0, 2],
      [1, 3],
    ] as const) {
      sent.length = 0
      expect(await isStored(await upload(index), files[index]!)).toBe(true)
      expect(count('PUT')).toBe(puts)
    }
  })

  describe.each([
    ['1.5.5', 'this version'],
    ['this version', '1.5.5'],
  ])('a client of %s, with a server of %s,', (client) => {
    it.each(Object.entries(flows))('%s', async (_, flow) => {
      await flow(client === '1.5.5' ? start(released, current) : start(current, released))
    })
  })
})
