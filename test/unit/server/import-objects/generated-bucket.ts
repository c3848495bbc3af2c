import { memoryStorage, type ObjectStorage } from '@svc/db'
import type { ListBytesInput, ListedBytes } from '@svc/db/adapter'

const WRITTEN = Date.UTC(2020, 0, 1)
const DIGITS = 7

/** Returns the key of the object at this position in the listing. */
export const keyAt = (index: number) => `users/${index % 10}/${String(index).padStart(DIGITS, '0')}.jpg`

/** Creates a storage whose bucket holds `count` objects, which exist only in listings. */
export function generatedBucket(count: number) {
  const perUser = Math.ceil(count / 10)
  const items = (at: number): ListedBytes => {
    const user = Math.floor(at / perUser)
    const number = (at % perUser) * 10 + user
    return { key: keyAt(number), size: number, eTag: `"${number}"`, lastModified: new Date(WRITTEN + number) }
  }
  const positionAfter = (after: string) => {
    const number = Number(/(\d+)\.jpg$/.exec(after)?.[1])
    return (number % 10) * perUser + Math.floor(number / 10) + 1
  }
  const listing = { calls: 0, listed: 0 }
  const storage: ObjectStorage = {
    ...memoryStorage(),
    async list({ after, limit }: ListBytesInput) {
      const start = after ? positionAfter(after) : 0
      const end = Math.min(start + limit, perUser * 10)
      const page = Array.from({ length: end - start }, (_, index) => items(start + index))
      listing.calls++
      listing.listed += page.length
      return { items: page, next: end < perUser * 10 ? page.at(-1)!.key : null }
    },
  }
  return { storage, listing }
}
