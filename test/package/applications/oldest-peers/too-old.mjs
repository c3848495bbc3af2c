// Prints the message with which the library refuses a package that is older than it supports.
import { MongoClient } from 'too-old-mongodb'
import { mongoAdapter } from '@svc/db/mongo'

try {
  mongoAdapter(new MongoClient('mongodb://127.0.0.1').db())
} catch (error) {
  console.log(`${error}`)
}
