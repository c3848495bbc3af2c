import { expect, it } from 'vitest'
import type { PartStore } from '../../../../src/storage/local/part-store.js'
import { createSelfServingMultipart } from '../../../../src/storage/local/parts.js'

function withParts(numbers: readonly number[]) {
  const list = () => Promise.resolve(numbers.map((partNumber) => ({ partNumber, size: 1, eTag: '"x"' })))
  const store = { list } as Partial<PartStore> as PartStore
  const never = () => Promise.reject(new Error('must not write'))
  const writer = { writeObject: never, writePart: never }
  const multipart = createSelfServingMultipart(store, writer, () => Promise.resolve(''))
  return async (after: number) => {
    const page = await multipart.listParts({ bucket: 'a', key: 'b', uploadId: 'c', after })
    return [page?.parts.map(({ partNumber }) => partNumber), page?.next]
  }
}

const numbers = (from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, index) => from + index)

it('lists parts in pages of 1000', async () => {
  const page = withParts(numbers(1, 2001))
  expect(await page(0)).toEqual([numbers(1, 1000), 1000])
  expect(await page(1000)).toEqual([numbers(1001, 2000), 2000])
  expect(await page(2000)).toEqual([[2001], null])
  expect(await page(10_000)).toEqual([[], null])
})

it('returns no next page after a page that is exactly full', async () => {
  expect(await withParts(numbers(1, 1000))(0)).toEqual([numbers(1, 1000), null])
})

it('starts after a number that has no part', async () => {
  expect(await withParts([2, 7, 10_000])(5)).toEqual([[7, 10_000], null])
})
