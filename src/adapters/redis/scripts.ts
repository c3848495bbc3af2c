import { redisScript } from './redis-client.js'

/*
 * The data in Redis. All keys of a prefix share one hash tag, so a script may use several of them in a cluster.
 *
 *   epoch              a unique name; entries with another epoch are invalid
 *   writers            marks of writes in progress whose scopes are not known yet, as a sorted set: token → expiry
 *   writers:<scope>    marks of writes in progress that change the usage of this scope, in the same form
 *   usage:<scope>      "<epoch> L <token>", a lease: no write of the scope has begun since it was granted;
 *                      or "<epoch> V <usage>", the value that the holder of a lease read from the database
 *
 * A value inherits the lifetime of its lease, which was granted before the value was read. So a value expires at most
 * `ttlSeconds` after it was current. All times are those of the Redis server; clocks of processes don't matter.
 *
 * Writes use `pcall`, because Redis may be out of memory. Deletions still work then, and a failed write must not
 * prevent them.
 */

const NOW = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
`

/**
 * Returns the usage of a scope, or a lease to store it, or "busy" while a write is in progress. Before it returns a
 * usage, it runs a command that a read-only Redis refuses (and that changes nothing of importance): a lagging replica,
 * for example, would not receive invalidations.
 * Keys: usage, writers of the scope, writers, epoch. Values: lifetime in ms, a new token, and the name and lifetime in
 * ms of the epoch to start if there is none.
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
 * Replaces a lease with the usage, if the lease still exists.
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
 * Runs before a write. Removes the usages or leases of its scopes, and marks the write, which prevents new leases until the
 * write has ended or the mark has expired.
 * Keys: writers and usage of each scope, or only the writers of unknown scopes. Values: token, and the lifetime of the mark
 * in ms.
 */
export const BEGIN = redisScript(`${NOW}
for i = 2, #KEYS, 2 do redis.call('DEL', KEYS[i]) end
local refusal
for i = 1, #KEYS, 2 do
  redis.call('ZREMRANGEBYSCORE', KEYS[i], '-inf', now)
  local put = redis.pcall('ZADD', KEYS[i], now + ARGV[2], ARGV[1])
  if type(put) == 'table' and put.err then
    refusal = put.err
  else
    redis.call('PEXPIRE', KEYS[i], ARGV[2])
  end
end
if refusal then return {'full', refusal} end
return {'begun'}
`)

/**
 * Runs after a write. Removes usages, which may have been stored if the mark of the write was lost, and then the marks of
 * writes that have ended. Renews the marks of writes that may still take effect.
 * Keys: epoch, usages, the writers of each mark to remove, and those of each mark to renew. Values: "all" to invalidate
 * every usage, otherwise "", the number of usages, the number of marks to remove, the lifetime of a renewed mark in ms, and
 * the tokens of the marks in the order of their writers.
 */
export const INVALIDATE = redisScript(`${NOW}
if ARGV[1] == 'all' then redis.call('DEL', KEYS[1]) end
local usages = tonumber(ARGV[2])
local ended = tonumber(ARGV[3])
for i = 1, usages do redis.call('DEL', KEYS[1 + i]) end
for i = 1, #ARGV - 4 do
  local writers = KEYS[1 + usages + i]
  if i <= ended then
    redis.call('ZREM', writers, ARGV[4 + i])
  else
    local put = redis.pcall('ZADD', writers, now + ARGV[4], ARGV[4 + i])
    if type(put) == 'table' and put.err then return {'full', put.err} end
    redis.call('PEXPIRE', writers, ARGV[4])
  end
end
return {'forgotten'}
`)
