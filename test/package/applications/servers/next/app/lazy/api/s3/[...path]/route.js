// The tests write this file from docs/nextjs.md.
import { handle } from '../../../../../lazy-server.mjs'

export { handle as GET, handle as POST, handle as PUT, handle as PATCH, handle as DELETE }
