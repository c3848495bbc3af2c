import polka from 'polka'
import { expressBinding } from '@svc/db/express'
import { s3 } from './s3.mjs'

polka().use('/v1', expressBinding(s3)).listen(process.env.PORT, process.env.HOST)
