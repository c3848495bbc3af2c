import type { Collection } from 'mongodb'
import { serverCode } from '../connection/failures.js'
import type { Place, Stored } from '../connection/place.js'
import { COLLECTIONS, INDEXES, specification, type ExpectedIndex } from './indexes.js'

const NO_SUCH_COLLECTION = 26

/** An index of the adapter that the database hasn't got, or has otherwise. */
export interface IndexFlaw {
  readonly collection: string
  readonly index: ExpectedIndex
  /** What is in its place; `null` where nothing is. */
  readonly found: string | null
}

/** Options that change what an index holds or how it compares; the others are an operator's own affair. */
const DEFINING = [
  'key',
  'partialFilterExpression',
  'unique',
  'sparse',
  'collation',
  'expireAfterSeconds',
  'hidden',
]

export async function indexFlaws(place: Place): Promise<IndexFlaw[]> {
  const flaws: IndexFlaw[] = []
  for (const name of COLLECTIONS) {
    const collection = place[name]
    const found = await indexesOf(collection)
    for (const index of INDEXES[name]) {
      const expected = definition(specification(index))
      const namesake = found.find((other) => other['name'] === index.name)
      // Another name for the same is as bad: the queries ask for the index by its name.
      const twin = found.find((other) => definition(other) === expected)
      const other = namesake ?? twin
      if (namesake && definition(namesake) === expected) continue
      const description = other ? `${String(other['name'])} ${definition(other)}` : null
      flaws.push({ collection: collection.collectionName, index, found: description })
    }
  }
  return flaws
}

export function describeFlaw({ collection, index, found }: IndexFlaw): string {
  if (found === null) return `Missing: index ${index.name} of ${collection}.`
  const expected = `${index.name} ${definition(specification(index))}`
  return `Differs: index of ${collection}, ${found} instead of ${expected}.`
}

async function indexesOf(collection: Collection<Stored>): Promise<Readonly<Record<string, unknown>>[]> {
  try {
    return (await collection.listIndexes().toArray()) as Readonly<Record<string, unknown>>[]
  } catch (error) {
    if (serverCode(error) === NO_SUCH_COLLECTION) return []
    throw error
  }
}

function definition(index: object): string {
  const fields = index as Readonly<Record<string, unknown>>
  const defining = DEFINING.filter((name) => fields[name] !== undefined && fields[name] !== false)
  return JSON.stringify(Object.fromEntries(defining.map((name) => [name, fields[name]])))
}
