import type { DbOptions } from '@svc/db'

/** The owner of the files. */
export const OWNER = 'user:1'

export const FRIEND = 'user:3'

/** Callers that try to read the files. `null`: not signed in. */
export const CALLERS = {
  owner: OWNER,
  'another owner': 'user:2',
  'whom mayRead allows': FRIEND,
  anonymous: null,
}

/** Lets the friend read all files. */
export const letFriendRead: DbOptions['mayRead'] = (_object, { scope }) => scope === FRIEND
