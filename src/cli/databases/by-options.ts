import { WrongCall } from '../wrong-call.js'
import type { DatabaseKind } from './database-kind.js'

/** What an adapter refuses of its options, the caller gave, by the option that says where the library's things are. */
export function byOptions<T>(placeOption: DatabaseKind['placeOption'], make: () => T): T {
  try {
    return make()
  } catch (error) {
    if (!(error instanceof TypeError)) throw error
    // It begins with names of the code, of which a caller of the command knows nothing.
    const flaw = error.message.replace(/^(?:\w+(?:\(\))?: )?\w+ /, '')
    throw new WrongCall(`--${placeOption} ${flaw}`)
  }
}
