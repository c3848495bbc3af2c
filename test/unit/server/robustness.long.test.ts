import { it } from 'vitest'
import { sendArbitraryBodies, sendArbitraryRequests } from './arbitrary-requests.js'

it('never responds with 5xx, never hangs, and returns only its own error messages', () =>
  sendArbitraryRequests(3000))

it('accepts any result of a body parser', () => sendArbitraryBodies(500))
