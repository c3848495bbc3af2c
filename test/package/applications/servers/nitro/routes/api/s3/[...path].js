import { defineEventHandler, toWebRequest } from 'h3'
import { s3 } from '../../../../s3.mjs'

export default defineEventHandler((event) => s3.handler(toWebRequest(event)))
