import { afterAll, describe } from 'vitest'
import { describeEndingRaces } from '../../unit/server/describe-ending-races.js'
import { databaseFolder } from './files.js'

const folder = databaseFolder()
afterAll(() => folder.drop())

describe('a server with sqliteAdapter', () => {
  describeEndingRaces(10, (now) => folder.create({ now }))
})
