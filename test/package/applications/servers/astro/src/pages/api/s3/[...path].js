import { s3 } from '../../../../../s3.mjs'

export const prerender = false
export const ALL = ({ request }) => s3.handler(request)
