import { it } from 'vitest'
import { callWithArbitraryInput, sendArbitraryBodies, sendArbitraryRequests } from './arbitrary-requests.js'

it('never responds with 5xx, never hangs, and returns only its own error messages', () =>
  sendArbitraryRequests(300))

it('accepts any result of a body parser', () => sendArbitraryBodies(100))

it('refuses any input of the calls for checked uploads with an error of its own', () =>
  callWithArbitraryInput(300))
