import { cleanUp, StorageError } from '@svc/db'
import { expect, it } from 'vitest'
import { forEverySchedule, Interleaving } from '../interleaving.js'
import { bytesOfSize, type Service } from '../service.js'
import {
  cleanUpUntilDone,
  contentOf,
  createWorld,
  expectConsistent,
  KEY,
  LATER,
  OWNER,
  putReport,
  uploadReport,
  type Content,
  type Subject,
} from '../world.js'

/** An HTTP status, or `null` if a call of the server returned. */
type Status = number | null
type Act = (service: Service, subject: Subject) => Promise<Status>

const statusOf = async (response: Promise<Response>) => (await response).status
const resultOf = (call: Promise<unknown>): Promise<Status> =>
  call.then(
    () => null,
    (error: unknown) => (error instanceof StorageError ? error.status : Promise.reject(error as Error)),
  )

const put: Act = ({ s3 }) =>
  resultOf(
    s3.files.put({
      scope: OWNER,
      route: 'docs',
      key: KEY,
      contentType: 'text/plain',
      body: bytesOfSize(3, 3),
    }),
  )
const remove: Act = ({ s3 }, { key }) => resultOf(s3.files.delete({ key }))
const confirm: Act = (service, object) => statusOf(service.as(OWNER).confirm(object))
const job: Act = ({ s3 }) => resultOf(cleanUp(s3))

/** The possible results: of each call, and the final content. Before, content 1 is active and content 2 is not confirmed. */
const pairs: Record<
  string,
  { acts: readonly [Act, Act]; expired?: true; ends: readonly (readonly [Status, Status, Content])[] }
> = {
  'a put and the confirm of an upload': {
    acts: [put, confirm],
    ends: [
      [null, 200, 3],
      [null, 404, 3],
    ],
  },
  'a put and a delete': {
    acts: [put, remove],
    ends: [
      [404, null, null],
      [null, null, 3],
      [null, null, null],
    ],
  },
  'two puts': {
    acts: [put, put],
    ends: [
      [404, null, 3],
      [null, 404, 3],
      [null, null, 3],
    ],
  },
  'a put and the job': { acts: [put, job], expired: true, ends: [[null, null, 3]] },
}

it.each(Object.entries(pairs))(
  '%s work in every order of their calls',
  async (_, { acts, expired, ends }) => {
    const reached = new Set<string>()
    await forEverySchedule(async (choose) => {
      const world = createWorld()
      await uploadReport(world.start(), 1)
      const subject = await putReport(world.start(), 2)
      if (expired) world.clock.advance(LATER)
      const interleaving = new Interleaving()
      const [first, second] = interleaving.connections.map((connection, index) =>
        acts[index]!(world.start(connection), subject),
      )
      const results = await interleaving.run(first!, second!, choose)
      await contentOf(world)
      await cleanUpUntilDone(world)
      reached.add(JSON.stringify([...results, await contentOf(world)]))
      await expectConsistent(world)
    })
    // Every listed result must occur in some schedule, and no other.
    expect([...reached].sort()).toEqual(ends.map((end) => JSON.stringify(end)).sort())
  },
)
