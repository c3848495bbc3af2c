import { s3 } from '../../../../../s3.mjs'

const handle = (request) => s3.handler(request)
export { handle as GET, handle as POST, handle as PUT, handle as PATCH, handle as DELETE }
