import { describe } from 'vitest'
import { OTHER_SERVERS } from './other-servers.js'
import { describeTemporaryDoors } from './temporary-doors.js'

describe.each(Object.entries(OTHER_SERVERS))('the doors to files of forms, %s', (_name, serve) => {
  describeTemporaryDoors(serve)
})
