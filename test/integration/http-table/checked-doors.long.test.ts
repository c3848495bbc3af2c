import { describe } from 'vitest'
import { describeCheckedDoors } from './checked-doors.js'
import { OTHER_SERVERS } from './other-servers.js'

describe.each(Object.entries(OTHER_SERVERS))('the doors to bytes that are checked, %s', (_name, serve) => {
  describeCheckedDoors(serve)
})
