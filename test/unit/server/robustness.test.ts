import { it } from 'vitest'
import { callWithArbitraryInput, sendArbitraryBodies, sendArbitraryRequests } from './arbitrary-requests.js'

it('never responds with 5xx, never hangs, and returns only its own error messages', () =>
  sendArbitraryRequests(100))

it('accepts any result of a body parser', () => sendArbitraryBodies(100))

it('never throws an internal error for arbitrary input to calls for checked uploads', () =>
  callWithArbitraryInput(100))
