#: mod
def __mod(left, right):
    if not isinstance(left, str):
        return left % right
    named = isinstance(right, dict)
    values = list(right) if isinstance(right, tuple) else [right]
    used = 0
    out = []
    at = 0
    while at < len(left):
        mark = left.find('%', at)
        if mark < 0:
            break
        out.append(left[at:mark])
        at = mark + 1
        key = None
        if left[at:at + 1] == '(':
            end = left.index(')', at)
            key = left[at + 1:end]
            at = end + 1
        flags = ''
        while left[at:at + 1] in ('-', '+', ' ', '0', '#'):
            flags += left[at]
            at += 1
        size = ''
        while left[at:at + 1].isdigit() or left[at:at + 1] == '.':
            size += left[at]
            at += 1
        form = left[at:at + 1]
        at += 1
        if form == '%':
            out.append('%')
            continue
        if form == '' or form not in 'sradiufFeEgGxXoc':
            raise ValueError(f"unsupported format character '{form}' in %-formatting: use an f-string")
        if key is not None:
            if not named:
                raise TypeError('format requires a mapping')
            value = right[key]
        elif used < len(values):
            value = values[used]
            used += 1
        else:
            raise TypeError('not enough arguments for format string')
        if form in 'sra':
            value = repr(value) if form in 'ra' else str(value)
            spec = ('<' if '-' in flags else '>') + size
        elif form == 'c':
            value = chr(value) if isinstance(value, int) else value
            spec = ('<' if '-' in flags else '>') + size
        else:
            sign = '+' if '+' in flags else (' ' if ' ' in flags else '')
            align = '<' if '-' in flags else '>'
            zero = '0' if '0' in flags and '-' not in flags else ''
            if form in 'diu':
                value = int(value)
                form = 'd'
                size = size.split('.')[0]
            elif form in 'fFeEgG':
                value = float(value)
                if '.' not in size:
                    size += '.6'
            prefix = '#' if '#' in flags else ''
            spec = ('' if zero else align) + sign + prefix + zero + size + form
        out.append(f'{value:{spec}}')
    out.append(left[at:])
    if not named and used < len(values):
        raise TypeError('not all arguments converted during string formatting')
    return ''.join(out)
#: generator
__yielded = []
def __yield(value):
    __yielded[-1].append(value)
def __yield_from(values):
    values = list(values)
    __yielded[-1].extend(values)
def __generator(function):
    def generator(*args, **kwargs):
        __yielded.append([])
        depth = len(__yielded)
        try:
            function(*args, **kwargs)
            return iter(__yielded[depth - 1])
        finally:
            while len(__yielded) >= depth:
                __yielded.pop()
    return generator
#: map
def __map(function, *values):
    return iter([function(*row) for row in zip(*values)])
#: builtins
def __format(value, spec=''):
    return f'{value:{spec}}'
def __callable(value):
    return hasattr(value, '__call__') or type(value).__name__ in ('function', 'builtin_function_or_method', 'type')
#: statistics
class __statistics:
    def mean(data):
        data = list(data)
        if not data:
            raise ValueError('mean requires at least one data point')
        return sum(data) / len(data)
    def fmean(data):
        return float(__statistics.mean(data))
    def median(data):
        data = sorted(data)
        if not data:
            raise ValueError('no median for empty data')
        half = len(data) // 2
        return data[half] if len(data) % 2 else (data[half - 1] + data[half]) / 2
    def multimode(data):
        counts = {}
        for value in data:
            counts[value] = counts.get(value, 0) + 1
        most = max(counts.values()) if counts else 0
        return [value for value in counts if counts[value] == most]
    def mode(data):
        modes = __statistics.multimode(data)
        if not modes:
            raise ValueError('no mode for empty data')
        return modes[0]
    def pvariance(data, mu=None):
        data = list(data)
        middle = __statistics.mean(data) if mu is None else mu
        return sum([(value - middle) ** 2 for value in data]) / len(data)
    def variance(data, xbar=None):
        data = list(data)
        if len(data) < 2:
            raise ValueError('variance requires at least two data points')
        middle = __statistics.mean(data) if xbar is None else xbar
        return sum([(value - middle) ** 2 for value in data]) / (len(data) - 1)
    def stdev(data, xbar=None):
        return __statistics.variance(data, xbar) ** 0.5
    def pstdev(data, mu=None):
        return __statistics.pvariance(data, mu) ** 0.5
#: itertools
class __itertools:
    def groupby(values, key=None):
        groups = []
        for value in values:
            name = value if key is None else key(value)
            if groups and groups[-1][0] == name:
                groups[-1][1].append(value)
            else:
                groups.append((name, [value]))
        return iter([(name, iter(members)) for name, members in groups])
    def product(*values, repeat=1):
        rows = [()]
        for pool in [list(value) for value in values] * repeat:
            rows = [row + (item,) for row in rows for item in pool]
        return iter(rows)
    def combinations(values, r):
        pool = list(values)
        rows = [((), 0)]
        for _ in range(r):
            rows = [(row + (pool[i],), i + 1) for row, start in rows for i in range(start, len(pool))]
        return iter([row for row, _ in rows])
    def combinations_with_replacement(values, r):
        pool = list(values)
        rows = [((), 0)]
        for _ in range(r):
            rows = [(row + (pool[i],), i) for row, start in rows for i in range(start, len(pool))]
        return iter([row for row, _ in rows])
    def permutations(values, r=None):
        pool = list(values)
        rows = [()]
        for _ in range(len(pool) if r is None else r):
            rows = [row + (i,) for row in rows for i in range(len(pool)) if i not in row]
        return iter([tuple([pool[i] for i in row]) for row in rows])
    def tee(values, n=2):
        values = list(values)
        return tuple([iter(list(values)) for _ in range(n)])
    def chain_from_iterable(values):
        return iter([item for value in values for item in value])
#: functools
class __functools:
    def cache(function):
        known = {}
        def cached(*args, **kwargs):
            key = (args, tuple(sorted(kwargs.items())))
            if key not in known:
                known[key] = function(*args, **kwargs)
            return known[key]
        return cached
    def lru_cache(maxsize=128, typed=False):
        if maxsize is None or isinstance(maxsize, int):
            return __functools.cache
        return __functools.cache(maxsize)
#: math
class __math:
    def prod(values, start=1):
        for value in values:
            start = start * value
        return start
    def fsum(values):
        return float(sum(values))
    def hypot(*values):
        return sum([value * value for value in values]) ** 0.5
    def dist(p, q):
        return sum([(a - b) ** 2 for a, b in zip(p, q)]) ** 0.5
#: collections
class __collections:
    OrderedDict = dict
#: operator
class __operator:
    def itemgetter(*keys):
        if len(keys) == 1:
            return lambda value: value[keys[0]]
        return lambda value: tuple([value[key] for key in keys])
    def attrgetter(name):
        return lambda value: getattr(value, name)
    def add(a, b):
        return a + b
    def mul(a, b):
        return a * b
    def sub(a, b):
        return a - b
#: heapq
class __heapq:
    def nlargest(n, values, key=None):
        return sorted(values, key=key, reverse=True)[:n]
    def nsmallest(n, values, key=None):
        return sorted(values, key=key)[:n]
    def heapify(heap):
        heap.sort()
    def heappush(heap, value):
        heap.append(value)
        heap.sort()
    def heappop(heap):
        return heap.pop(0)
#: copy
class __copy:
    def copy(value):
        if isinstance(value, (list, dict, set)):
            return value.copy()
        return value
    def deepcopy(value):
        if isinstance(value, dict):
            return {key: __copy.deepcopy(item) for key, item in value.items()}
        if isinstance(value, list):
            return [__copy.deepcopy(item) for item in value]
        if isinstance(value, tuple):
            return tuple([__copy.deepcopy(item) for item in value])
        if isinstance(value, set):
            return set(value)
        return value
#: string
class __string:
    ascii_lowercase = 'abcdefghijklmnopqrstuvwxyz'
    ascii_uppercase = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ'
    ascii_letters = 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ'
    digits = '0123456789'
    hexdigits = '0123456789abcdefABCDEF'
    punctuation = '!"#$%&\'()*+,-./:;<=>?@[\\]^_`{|}~'
    whitespace = ' \t\n\r\x0b\x0c'
