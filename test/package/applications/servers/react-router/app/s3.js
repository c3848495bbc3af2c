import { s3 } from '../../s3.mjs'

export const loader = ({ request }) => s3.handler(request)
export const action = loader
