import { s3 } from '../../../../../../s3.mjs'

export const fallback = ({ request }) => s3.handler(request)
