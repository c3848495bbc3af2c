import express from 'express'
import { expressBinding } from '@svc/db/express'
import { describe } from 'vitest'
import { listenForFile } from './listen-for-file.js'
import { describeTemporaryDoors } from './temporary-doors.js'

describe('the doors to files of forms, in Express', () => {
  describeTemporaryDoors(async (s3) => (await listenForFile(express().use(expressBinding(s3)))) + s3.basePath)
})
