import type { StorageObjectStore } from '@svc/db'
import { expect, it } from 'vitest'

type At = Readonly<{ bucket: string; key: string }>

const keysOf = (group: string, count: number) =>
  Array.from({ length: count }, (_, i): At => ({ bucket: 'bucket', key: `${group} ${i}` }))

const adopt = (store: StorageObjectStore, at: At, storageKey: string, scope: string) =>
  store.adopt({ ...at, storageKey, scope, size: 1, createdAt: new Date() })

/**
 * Registers tests of concurrent adoptions and transfers by several clients of one database. Races of all writes in several
 * processes are in races.long.test.ts.
 */
export function objectWriteTests(stores: () => readonly StorageObjectStore[]): void {
  const any = (i: number) => stores()[i % stores().length]!

  it('adopt the same bytes once, under different keys of different scopes', async () => {
    for (let round = 0; round < 20; round++) {
      const results = await Promise.all(
        keysOf(`same ${round}`, 6).map((at, i) => adopt(any(i), at, `bytes ${round}`, `scope ${i}`)),
      )
      const adopted = results.filter(({ known }) => !known)
      expect(adopted).toHaveLength(1)
      expect(new Set(results.map(({ object }) => object?.id))).toEqual(new Set([adopted[0]!.object!.id]))
    }
    expect(await any(0).checkUsage()).toEqual([])
  })

  it('adopt the same bytes once in one batch', async () => {
    const results = await Promise.all(keysOf('batch', 20).map((at) => adopt(any(0), at, 'bytes', 'scope')))
    expect(results.filter(({ known }) => !known)).toHaveLength(1)
    expect(new Set(results.map(({ object }) => object?.id)).size).toBe(1)
  })

  it('adopt many objects in opposite orders', async () => {
    const keys = keysOf('many', 60)
    const results = await Promise.all([
      ...keys.map((at) => adopt(any(0), at, at.key, 'ann')),
      ...keys.toReversed().map((at) => adopt(any(1), at, at.key, 'bob')),
    ])
    expect(results.filter(({ known }) => !known)).toHaveLength(60)
    const [ann, bob] = await Promise.all(['ann', 'bob'].map((scope) => any(0).getScopeUsage(scope)))
    expect(ann!.files + bob!.files).toBe(60)
    expect(await any(0).checkUsage()).toEqual([])
  })

  it('transfer in opposite directions', async () => {
    const keys = keysOf('moved', 30)
    await Promise.all(keys.map((at, i) => adopt(any(0), at, at.key, i % 2 ? 'left' : 'right')))
    const moved = await Promise.all(
      keys.map((at, i) => {
        const [from, to] = i % 2 ? ['left', 'right'] : ['right', 'left']
        return any(i).transfer({ ...at, from, to })
      }),
    )
    expect(moved.map((row) => row?.scope)).toEqual(keys.map((_, i) => (i % 2 ? 'right' : 'left')))
    expect(await any(0).checkUsage()).toEqual([])
  })
}
