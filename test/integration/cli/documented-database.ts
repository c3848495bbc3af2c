import type { StorageObjectStore } from '@svc/db'

const day = (number: number) => new Date(Date.UTC(2026, 0, number, 9, 30))
const idOf = (number: number) => `019b7d00-0000-7000-8000-00000000000${number}`

/** Stores the objects that docs/cli.md shows. `at` returns the store with the clock set to the given time. */
export async function fillDocumentedDatabase(at: (now: Date) => StorageObjectStore): Promise<void> {
  async function reserve(
    number: number,
    scope: string,
    key: string,
    declaredSize: number,
    filename: string,
    checkSeconds: number | null = null,
  ) {
    const bucket = 'uploads'
    const attempt = { scope, bucket, key, declaredSize, filename, id: idOf(number), storageKey: key }
    await at(day(number)).reserve({ ...attempt, checkSeconds, expiresAt: day(number + 1) })
    return { bucket, key, id: attempt.id, size: declaredSize }
  }
  await at(day(1)).confirm(await reserve(1, 'user:ann', 'photos/5f0c', 2_411_724, 'Beach.jpg'))
  await at(day(2)).confirm(await reserve(2, 'user:ann', 'texts/81d3', 512, 'notes.txt'))
  await at(day(3)).confirm(await reserve(3, 'user:bob', 'texts/c2aa', 20_480, 'letter.pdf'))
  await at(day(4)).confirm(await reserve(4, 'user:ann', 'texts/d09e', 300, 'old.txt'))
  await at(day(5)).remove({ bucket: 'uploads', key: 'texts/d09e' })
  await reserve(6, 'user:ann', 'films/0b77', 734_003_200, 'film.mp4')
  await at(day(7)).confirm(await reserve(7, 'user:eve', 'texts/9a1f', 4096, 'offer.doc', 604_800))
}
