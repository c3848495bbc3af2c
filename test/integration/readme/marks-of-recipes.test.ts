import type { Express } from 'express'
import {
  createS3Server,
  db,
  memoryStorage,
  type DbClientObject,
  type StorageObject,
  type StorageObjectStore,
} from '@svc/db'
import { memoryAdapter } from '@svc/db/memory'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
// @ts-expect-error -- an example in JavaScript
import * as sharingExample from '../../../examples/sharing.mjs'
import { clientOf, signedInAs } from './checks/app-client.js'
import { run } from './programs.js'
import { closeServers, originOf } from './running-servers.js'
import { buildPrograms, closeWorkspace, openWorkspace, writeSnippets } from './snippets.js'

// Issue 64: two recipes that replaced the metadata of one object erased each other's marks.

const RECIPES = ['docs/sharing.md#sharing.ts', 'docs/store.md#objects.ts']
const workspace = openWorkspace()
const snippets = writeSnippets(workspace).filter(({ id }) => RECIPES.includes(id!))

interface SharingProgram {
  readonly app: Express
  readonly client: StorageObjectStore
}

interface StoreProgram {
  readonly markScanned: (store: StorageObjectStore, object: StorageObject) => Promise<unknown>
}

interface SharingExample {
  readonly createShare: (
    options: object,
  ) => (request: Request, input: { key: string; readers: string }) => Promise<void>
}

const MARKS = { shared: 'yes', scanned: 'clean', readers: 'bob' }

/** The updates that the recipes have called, each waiting until it is run. */
const held: (() => Promise<unknown>)[] = []
let upload: () => Promise<DbClientObject>
let client: StorageObjectStore
let recipes: readonly ((object: StorageObject) => Promise<unknown>)[]

beforeAll(async () => {
  await buildPrograms(workspace, snippets)
  const program = <Exports>(id: string) =>
    run<Exports>(snippets.find((snippet) => snippet.id === id)!.program)
  const sharing = await program<SharingProgram>(RECIPES[0]!)
  const { markScanned } = await program<StoreProgram>(RECIPES[1]!)
  client = memoryAdapter()
  const resolveScope = (request: Request) => request.headers.get('x-signed-in-as')
  const s3 = createS3Server({
    storage: memoryStorage(),
    bucket: 'uploads',
    plugins: [db({ client, resolveScope })],
  })
  const update = client.update.bind(client)
  vi.spyOn(client, 'update').mockImplementation(
    (input) =>
      new Promise((resolve, reject) =>
        held.push(() => update(input).then((row) => (resolve(row), row), reject)),
      ),
  )
  // The recipe for sharing creates its own store. Here it works on that of the others.
  vi.spyOn(sharing.client, 'findActive').mockImplementation((input) => client.findActive(input))
  vi.spyOn(sharing.client, 'update').mockImplementation((input) => client.update(input))
  const baseURL = await originOf(sharing.app.listen(0))
  const { createShare } = sharingExample as SharingExample
  const share = createShare({
    ...{ client, bucket: 'uploads' },
    resolveScope,
  })
  upload = () => clientOf({ s3 }, 'ann').upload(new File(['hello'], 'note.txt', { type: 'text/plain' }))
  recipes = [
    ({ key }) =>
      fetch(`${baseURL}/shared`, {
        method: 'PUT',
        headers: { cookie: 'signed-in-as=ann', 'content-type': 'application/json' },
        body: JSON.stringify({ key, shared: true }),
      }),
    (object) => markScanned(client, object),
    ({ key }) => share(new Request(baseURL, { headers: signedInAs('ann') }), { key, readers: 'bob' }),
  ]
})

afterAll(async () => {
  vi.restoreAllMocks()
  await closeServers()
  closeWorkspace(workspace)
})

/** Begins all recipes on a new object. Each has read what it needs, and its update waits. */
async function begun() {
  held.length = 0
  const { id } = await upload()
  const object = (await client.findById({ id }))!
  const running: Promise<unknown>[] = []
  for (const [index, recipe] of recipes.entries()) {
    running.push(recipe(object))
    await expect.poll(() => held.length).toBe(index + 1)
  }
  return { id, finish: () => Promise.all(running) }
}

function ordersOf<Item>(items: readonly Item[]): Item[][] {
  if (items.length === 0) return [[]]
  return items.flatMap((item) =>
    ordersOf(items.filter((other) => other !== item)).map((rest) => [item, ...rest]),
  )
}

describe('the recipes that set a mark', () => {
  it.each(ordersOf(Object.keys(MARKS)))('keep the marks of each other: %s, %s, %s', async (...order) => {
    const { id, finish } = await begun()
    for (const mark of order) await held[Object.keys(MARKS).indexOf(mark)]!()
    await finish()
    expect((await client.findById({ id }))?.metadata).toEqual(MARKS)
  })
})
