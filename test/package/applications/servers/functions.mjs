// For `functions-framework --target=files`.
import { http } from '@google-cloud/functions-framework'
import { expressBinding } from '@svc/db/express'
import { s3 } from './s3.mjs'

const files = expressBinding(s3)
http('files', (request, response) => files(request, response, () => response.sendStatus(404)))
