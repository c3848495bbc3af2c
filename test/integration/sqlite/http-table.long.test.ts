import express from 'express'
import { expressBinding } from '@svc/db/express'
import { afterAll, describe } from 'vitest'
import { describeCheckedDoors } from '../http-table/checked-doors.js'
import type { Serve } from '../http-table/fixture.js'
import { listenForFile } from '../http-table/listen-for-file.js'
import { describeWholeTable } from '../http-table/whole-table.js'
import { databaseFolder } from './files.js'
import { openOnFiles } from './http-table.js'

const folder = databaseFolder()
afterAll(() => folder.drop())
const open = await openOnFiles(folder)
const serve: Serve = async (s3) => (await listenForFile(express().use(expressBinding(s3)))) + s3.basePath

describe('Express over sqliteAdapter', () => {
  describeWholeTable(serve, open)

  describe('and the doors to bytes that are checked', () => {
    describeCheckedDoors(serve, () => open('nothing'))
  })
})
