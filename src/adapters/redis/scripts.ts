import { redisScript } from './redis-client.js'

/*
 * What lies in Redis. All keys of a prefix share one hash tag, so on a cluster a script may use several of them.
 *
 *   epoch              a name that nobody has used before; whatever carries another one is forgotten
 *   writers            the writes under way whose scopes nobody knows yet: token → until when it counts, a sorted set
 *   writers:<scope>    the writes under way that change the usage of this scope, alike
 *   usage:<scope>      "<epoch> L <token>", a lease: since it was given out nobody has begun to change the scope;
 *                      or "<epoch> V <usage>", what the database said to the holder of such a lease
 *
 * A lease turns into a value without a new lifetime, so a value ends `ttlSeconds` after the moment before it was read.
 * All times are those of the Redis server; the clocks of the processes don't matter.
 *
 * `pcall` where Redis may be out of memory: what deletes works all the same, and must not be undone by what doesn't.
 */

const NOW = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
`

/**
 * The usage of a scope, or a lease to put it there, or neither while somebody writes. A Redis that refuses to be written
 * to, such as a replica that may lag behind, wouldn't take what a write makes it forget either; so a usage is told only
 * after a command that such a one refuses, which else changes nothing that counts.
 * Keys: usage, writers of the scope, writers, epoch. Values: lifetime in ms, a new token, the name and the lifetime in ms
 * of an epoch where there is none.
 */
export const READ = redisScript(`${NOW}
if redis.call('ZCOUNT', KEYS[2], now, '+inf') + redis.call('ZCOUNT', KEYS[3], now, '+inf') > 0 then
  return {'busy'}
end
local epoch = redis.call('GET', KEYS[4])
if not epoch then
  epoch = ARGV[3]
  local put = redis.pcall('SET', KEYS[4], epoch, 'PX', ARGV[4])
  if put.err then return {'full', put.err} end
end
local usage = redis.call('GET', KEYS[1])
if usage and string.sub(usage, 1, #epoch + 3) == epoch .. ' V ' then
  redis.call('ZREMRANGEBYSCORE', KEYS[3], '-inf', now)
  return {'value', string.sub(usage, #epoch + 4)}
end
if usage and string.sub(usage, 1, #epoch + 3) == epoch .. ' L ' then
  return {'lease', usage, epoch}
end
local lease = epoch .. ' L ' .. ARGV[2]
local put = redis.pcall('SET', KEYS[1], lease, 'PX', ARGV[1])
if put.err then return {'full', put.err} end
return {'lease', lease, epoch}
`)

/**
 * Puts a usage in the place of its lease, if that is still there.
 * Keys: usage, epoch. Values: the lease, its epoch, the usage.
 */
export const STORE = redisScript(`
if redis.call('GET', KEYS[1]) ~= ARGV[1] or redis.call('GET', KEYS[2]) ~= ARGV[2] then
  return {'late'}
end
local put = redis.pcall('SET', KEYS[1], ARGV[2] .. ' V ' .. ARGV[3], 'KEEPTTL')
if put.err then return {'full', put.err} end
return {'stored'}
`)

/**
 * Before a write: forgets the usage and its leases, and lets nobody have one until the write is over or takes too long.
 * Keys: writers (of the scope, or those whose scopes nobody knows), and the usage where the scope is known. Values: token,
 * and for how many ms it counts at most.
 */
export const BEGIN = redisScript(`${NOW}
if KEYS[2] then redis.call('DEL', KEYS[2]) end
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
local put = redis.pcall('ZADD', KEYS[1], now + ARGV[2], ARGV[1])
if type(put) == 'table' and put.err then return {'full', put.err} end
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return {'begun'}
`)

/**
 * After a write: forgets usages, which may have been put there if the mark of the write was lost, and takes marks away.
 * Keys: epoch, usages, and the writers of each mark. Values: "all" where every usage is to be forgotten, the number of
 * usages, and the token of each mark.
 */
export const FORGET = redisScript(`
if ARGV[1] == 'all' then redis.call('DEL', KEYS[1]) end
local usages = tonumber(ARGV[2])
for i = 1, usages do redis.call('DEL', KEYS[1 + i]) end
for i = 3, #ARGV do redis.call('ZREM', KEYS[usages + i - 1], ARGV[i]) end
return {'forgotten'}
`)
