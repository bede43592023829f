-- Reads only.
-- Finds the oldest alarm in any queue.
-- KEYS[1] set: the names of the destinations   ARGV[1] prefix of their queues
-- returns the smallest item at the head of a queue, '' if all are empty
local least
for _, name in ipairs(redis.call('SMEMBERS', KEYS[1])) do
  local head = redis.pcall('LINDEX', ARGV[1] .. name, 0)
  local item = type(head) == 'string' and tonumber(head)
  if item and (not least or item < least) then least = item end
end
return least and string.format('%.0f', least) or ''
