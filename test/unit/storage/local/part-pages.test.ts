import { memoryStorage } from '@svc/db'
import { expect, it } from 'vitest'

/** Writes parts, and returns a function that lists a page of them: their numbers, and `next`. */
async function withParts(numbers: readonly number[]) {
  const { multipart } = memoryStorage()
  const at = { bucket: 'files', key: 'a/b' }
  const { uploadId } = await multipart!.create({ ...at, contentType: 'text/plain', attemptId: 'any' })
  const upload = { ...at, uploadId }
  for (const partNumber of numbers) {
    await multipart!.writePart!({ ...upload, partNumber, body: new Uint8Array(1) })
  }
  return async (after: number) => {
    const page = await multipart!.listParts({ ...upload, after })
    return [page?.parts.map(({ partNumber }) => partNumber), page?.next]
  }
}

const numbers = (from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, index) => from + index)

it('lists parts in pages of 1000', async () => {
  const page = await withParts(numbers(1, 2001))
  expect(await page(0)).toEqual([numbers(1, 1000), 1000])
  expect(await page(1000)).toEqual([numbers(1001, 2000), 2000])
  expect(await page(2000)).toEqual([[2001], null])
  expect(await page(10_000)).toEqual([[], null])
})

it('returns no next page after a page that is exactly full', async () => {
  expect(await (await withParts(numbers(1, 1000)))(0)).toEqual([numbers(1, 1000), null])
})

it('starts after a number that has no part, in order of the numbers', async () => {
  expect(await (await withParts([10_000, 2, 7]))(5)).toEqual([[7, 10_000], null])
})
