-- Reads only.
-- Finds an alarm by its id: the newest if several devices use the id.
-- arg.id  the bytes of the id   arg.location, arg.device  '' for any
-- returns { its number, names and values of its record, its states or '' }, {} if none is found
--- include history
local piece, field = placeOf(arg.id)
local found = {}
for number in string.gmatch(redis.call('HGET', key('ids:' .. piece), field) or '', '%d+') do
  local row = redis.call('XRANGE', history, number .. '-0', number .. '-0')[1]
  local entry = row and entryAt(number) or {}
  local device, location = deviceIn(entry.c), locationIn(entry.c)
  local isThere = entry.k and entry.i == arg.id and device and location
  if isThere and (arg.location == '' or arg.location == location) and (arg.device == '' or arg.device == device) then
    found = { number, row[2], statesOf(arg.id, device) }
  end
end
return found
